/** Style, scripts and icon of the page, named after their content: a name once served never means anything else. Beside them the button for the pages of
 *  shops, named after the version of what it promises them. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { RequestHandler } from 'express';
import { PACKAGE_ROOT } from '../package-root.js';
import { brandStyle } from './brand.js';

const FILES = {
  'page.css': 'text/css',
  'page.js': 'text/javascript',
  'wallet.js': 'text/javascript',
  'freighter.js': 'text/javascript',
  'icon.svg': 'image/svg+xml',
} as const;
export type AssetName = keyof typeof FILES;

/** The wallet's interface as its makers publish it: one script without further parts. */
const FREIGHTER = createRequire(import.meta.url).resolve('@stellar/freighter-api');

/** Pages of shops name this file, so it stays; what its attribute and its event mean changes only with the number. */
const BUTTON = 'button-v1.js';
const ONE_HOUR = 'public, max-age=3600';
const ONE_YEAR = 'public, max-age=31536000, immutable';

const read = (file: string) => readFileSync(new URL(`src/page/client/${file}`, PACKAGE_ROOT));

function bodyOf(file: string): Buffer {
  if (file === 'freighter.js') return readFileSync(FREIGHTER);
  // The theme is the dashboard's, too.
  return file === 'page.css' ? Buffer.concat([read('theme.css'), read(file)]) : read(file);
}

export function createAssets() {
  const assets = Object.entries(FILES).map(([file, type]) => {
    const body = bodyOf(file);
    const [name, extension] = file.split('.');
    const hash = createHash('sha256').update(body).digest('hex').slice(0, 10);
    return {
      file,
      type,
      body,
      hashed: `${name}-${hash}.${extension}`,
      anyHash: new RegExp(`^${name}-\\w+\\.${extension}$`),
    };
  });
  const button = read('button.js');
  return {
    /** For `/page/button-v1.js`, which other origins load. */
    button: {
      path: `/page/${BUTTON}`,
      serve: ((_req, res) => {
        res.set({
          'cache-control': ONE_HOUR,
          'cross-origin-resource-policy': 'cross-origin',
          'access-control-allow-origin': '*',
        });
        res.type('text/javascript').send(button);
      }) satisfies RequestHandler,
    },
    /** The name under `/page/`. */
    nameOf: (file: AssetName): string => assets.find((asset) => asset.file === file)!.hashed,
    /** For `/page/:file`. While versions change, a page of the other version gets what is here, which then nobody keeps. */
    serve: ((req, res, next) => {
      const asked = String(req.params.file);
      const brand = brandStyle(asked);
      if (brand !== null) return void res.set('cache-control', ONE_HOUR).type('text/css').send(brand);
      const asset = assets.find(({ anyHash }) => anyHash.test(asked));
      if (!asset) return next();
      res.set('cache-control', asked === asset.hashed ? ONE_YEAR : 'no-store');
      res.type(asset.type).send(asset.body);
    }) satisfies RequestHandler,
  };
}
export type Assets = ReturnType<typeof createAssets>;
