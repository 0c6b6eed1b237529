/**
 * Bundles the dashboard: names with a hash of what is in them, each file also compressed with gzip and brotli, and a
 * manifest of media types.
 * `node scripts/build-dashboard.mjs [folder]`; the folder is dist/src/web/dashboard where none is named. It needs no
 * network and writes nothing else.
 */
import { build } from 'esbuild';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const ROOT = path.resolve(import.meta.dirname, '..');
const SOURCE = path.join(ROOT, 'src/web/dashboard');
const TYPES = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.html': 'text/html; charset=utf-8',
};

/**
 * Builds into a folder what is not there yet; returns the names of the files that it made with their sizes in bytes.
 */
export async function buildDashboard(folder) {
  const { outputFiles, metafile } = await build({
    entryPoints: {
      main: path.join(SOURCE, 'main.tsx'),
      docs: path.join(SOURCE, 'docs.ts'),
      icon: path.join(SOURCE, 'icon.svg'),
    },
    outdir: folder,
    absWorkingDir: ROOT,
    tsconfig: path.join(SOURCE, 'tsconfig.json'),
    bundle: true,
    splitting: true,
    format: 'esm',
    target: ['es2022', 'chrome117', 'firefox119', 'safari17.4'],
    minify: true,
    write: false,
    metafile: true,
    charset: 'utf8',
    legalComments: 'none',
    entryNames: '[name]-[hash]',
    chunkNames: 'chunk-[hash]',
    assetNames: '[name]-[hash]',
    loader: { '.svg': 'copy' },
    define: { 'process.env.NODE_ENV': '"production"' },
    logLevel: 'warning',
  });
  const names = Object.keys(metafile.outputs).map((file) => path.basename(file));
  const nameOf = (start, ending) =>
    names.find((name) => name.startsWith(start) && name.endsWith(ending)) ??
    fail(`the build made no ${start}*${ending}`);
  const page = (await readFile(path.join(SOURCE, 'index.html'), 'utf8'))
    .replace('{icon}', nameOf('icon-', '.svg'))
    .replace('{style}', nameOf('main-', '.css'))
    .replace('{script}', nameOf('main-', '.js'));
  const files = [
    ...outputFiles.map(({ path: file, contents }) => ({ name: path.basename(file), contents })),
    { name: 'index.html', contents: Buffer.from(page) },
  ];
  const manifest = `${JSON.stringify(Object.fromEntries(files.map(({ name }) => [name, TYPES[path.extname(name)] ?? fail(`no media type for ${name}`)])), null, 2)}\n`;
  // A server may be running on it.
  if (await isThere(folder, manifest, page)) return [];
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const sizes = await Promise.all(files.map(({ name, contents }) => put(folder, name, contents)));
  await writeFile(path.join(folder, 'manifest.json'), manifest);
  return sizes;
}

/** The names of the other files are hashes of what is in them; the manifest is written last. */
async function isThere(folder, manifest, page) {
  const [known, shown] = await Promise.all(
    ['manifest.json', 'index.html'].map((name) => readFile(path.join(folder, name), 'utf8').catch(() => null)),
  );
  return known === manifest && shown === page;
}

async function put(folder, name, contents) {
  const brotli = await promisify(brotliCompress)(contents, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: contents.length },
  });
  const zipped = await promisify(gzip)(contents, { level: 9 });
  await Promise.all([
    writeFile(path.join(folder, name), contents),
    writeFile(path.join(folder, `${name}.br`), brotli),
    writeFile(path.join(folder, `${name}.gz`), zipped),
  ]);
  return { name, bytes: contents.length, gzip: zipped.length, br: brotli.length };
}

function fail(message) {
  throw new Error(message);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const sizes = await buildDashboard(path.resolve(process.argv[2] ?? path.join(ROOT, 'dist/src/web/dashboard')));
  for (const { name, bytes, gzip: zipped, br } of sizes)
    console.error(
      `${name.padEnd(28)} ${String(bytes).padStart(8)} bytes, ${String(zipped).padStart(7)} gzip, ${String(br).padStart(7)} brotli`,
    );
}
