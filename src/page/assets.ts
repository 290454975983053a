/** Style, scripts and icon of the page, each named by its content, so that a served name never
 *  changes meaning; and the button for shops' pages, named by the version of its interface. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RequestHandler } from 'express';
import { PACKAGE_ROOT } from '../kit/package-root.js';
import { brandStyle } from './brand.js';

const FILES = {
  'page.css': 'text/css',
  'page.js': 'text/javascript',
  'embed.js': 'text/javascript',
  'order.css': 'text/css',
  'order.js': 'text/javascript',
  'wallets.css': 'text/css',
  'icon.svg': 'image/svg+xml',
  // An iPhone's home screen takes no SVG, and rounds the corners by itself.
  'touch-icon.png': 'image/png',
} as const;

/** The script for choosing a wallet, and one for each wallet, loaded when it is chosen. */
export const WALLET_SCRIPTS = ['main', 'freighter', 'lobstr', 'xbull', 'albedo', 'hana', 'rabet'] as const;
type WalletFile = `wallets-${(typeof WALLET_SCRIPTS)[number]}.js`;
export type AssetName = keyof typeof FILES | WalletFile;

/** Shops' pages name this file, so it stays; the meaning of its attribute and event changes only
 *  with the number. */
const BUTTON = 'button-v1.js';
const ONE_HOUR = 'public, max-age=3600';
const ONE_YEAR = 'public, max-age=31536000, immutable';

const read = (file: string) => readFileSync(new URL(`src/page/client/${file}`, PACKAGE_ROOT));

/** Built from `client/wallets` and the wallets' own libraries, for dist and for the
 *  sources (`scripts/bundle.ts`). */
const readBuilt = (file: string) => readFileSync(new URL(`dist/src/page/wallets/${file}`, PACKAGE_ROOT));

/** The dashboard uses the theme, too. */
const bodyOf = (file: string): Buffer =>
  file === 'page.css' ? Buffer.concat([read('theme.css'), read(file)]) : read(file);

export function createAssets() {
  const files = [
    ...Object.entries(FILES).map(([file, type]) => ({ file, type, body: bodyOf(file) })),
    ...WALLET_SCRIPTS.map((name) => ({
      file: `wallets-${name}.js`,
      type: 'text/javascript',
      body: readBuilt(`${name}.js`),
    })),
  ];
  const assets = files.map(({ file, type, body }) => {
    const [name, extension] = file.split('.');
    const hash = createHash('sha256').update(body).digest('hex').slice(0, 10);
    return {
      ...{ file, type, body },
      hashed: `${name}-${hash}.${extension}`,
      anyHash: new RegExp(`^${name}-[0-9a-f]{10}\\.${extension}$`),
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
    /** For `/page/:file`. During an upgrade, pages of the other version get this version's
     *  file, uncached. */
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
