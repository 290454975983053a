/** The built application. Its files are named by their content, except for the page, which refers to them. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { PACKAGE_ROOT } from '../kit/package-root.js';

/** Also when the service runs from its sources, because the application is always built. */
const FOLDER = fileURLToPath(new URL('dist/src/dashboard/app/', PACKAGE_ROOT));
const NAME = /^[\w-]+\.(js|css|svg|png)$/;
/** References of the built page, relative to it. */
const ASSETS = /(?<==")\.\/assets\//g;

/** Files whose names do not depend on their content, because browsers fetch them by name. */
export const FIXED_FILES = ['pos.webmanifest', 'pos-icon.svg', 'sw.js'] as const;
type FixedFile = (typeof FIXED_FILES)[number];

type Encoding = 'br' | 'gzip' | 'identity';

const compress: Record<Encoding, (body: Buffer) => Promise<Buffer>> = {
  br: (body) => promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (body) => promisify(gzip)(body, { level: 9 }),
  identity: async (body) => body,
};

/** @param base the path of `PUBLIC_URL` */
export function createFiles(base: string, folder = FOLDER) {
  /** Holds only existing files, so it is bounded by the build. */
  const assets = new Map<string, Promise<Buffer>>();

  async function compressed(name: string, encoding: Encoding): Promise<Buffer> {
    return compress[encoding](await readFile(`${folder}assets/${name}`));
  }

  return {
    /** A file with a fixed name, for the till. @returns null when it has not been built */
    fixed: (name: FixedFile): Promise<Buffer | null> => readFile(`${folder}${name}`).catch(() => null),
    /** @returns the page, or null when the application has not been built */
    async page(): Promise<string | null> {
      const page = await readFile(`${folder}index.html`, 'utf8').catch(() => null);
      return page?.replace(ASSETS, `${base}/dashboard/assets/`) ?? null;
    },
    /** @returns null when there is no such file */
    async asset(name: string, encoding: Encoding): Promise<Buffer | null> {
      if (!NAME.test(name)) return null;
      const key = `${encoding} ${name}`;
      const known = assets.get(key);
      if (known) return known;
      const body = compressed(name, encoding);
      assets.set(key, body);
      return body.catch(() => {
        assets.delete(key);
        return null;
      });
    },
  };
}
