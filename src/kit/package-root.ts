/** The folder of the package. What is read at run time is named from here: the built programs are
 *  bundles, so their place is not that of their sources. */
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

export const PACKAGE_ROOT = new URL(
  '.',
  pathToFileURL(createRequire(import.meta.url).resolve('stellar-collect/package.json')),
);
