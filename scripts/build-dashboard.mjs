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
import { minify } from 'terser';

const ROOT = path.resolve(import.meta.dirname, '..');
const SOURCE = path.join(ROOT, 'src/web/dashboard');
const TYPES = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.html': 'text/html; charset=utf-8',
};

const TEXTS = path.join(SOURCE, 'texts');

/** What a module exports when it runs. */
async function exportsOf(file) {
  const { outputFiles } = await build({
    entryPoints: [file],
    bundle: true,
    format: 'esm',
    charset: 'utf8',
    write: false,
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);
}

/** The Chinese texts have the keys of the English: the program holds each key once. */
const keysOnce = {
  name: 'keys-once',
  setup(bundler) {
    bundler.onLoad({ filter: /[\\/]dashboard[\\/]texts[\\/]chinese\.ts$/ }, async ({ path: file }) => {
      const [{ CHINESE }, { ENGLISH }] = await Promise.all([
        exportsOf(file),
        exportsOf(path.join(TEXTS, 'english.ts')),
      ]);
      const keys = Object.keys(ENGLISH);
      const lacking = [...new Set([...keys, ...Object.keys(CHINESE)])].filter((key) => !ENGLISH[key] || !CHINESE[key]);
      if (lacking.length > 0) fail(`texts that are not in both languages: ${lacking.join(', ')}`);
      return {
        contents: `import { ENGLISH } from './english.js';
const texts = ${JSON.stringify(keys.map((key) => CHINESE[key]))};
export const CHINESE = Object.fromEntries(Object.keys(ENGLISH).map((key, at) => [key, texts[at]]));`,
        loader: 'js',
      };
    });
  },
};

const CHINESE_BY_ENGLISH =
  /[\\/](report[\\/]chinese[\\/]\w+|dashboard[\\/]texts[\\/](policies|settings-fields)-chinese)\.ts$/;

/** Of a sentence that the server says in English the program needs no more than to know it again. */
const sentencesByDigest = {
  name: 'sentences-by-digest',
  setup(bundler) {
    bundler.onLoad({ filter: CHINESE_BY_ENGLISH }, async ({ path: file }) => {
      const { digest } = await exportsOf(path.join(ROOT, 'src/core/report/digest.ts'));
      const keyOf = (english) => (/ /.test(english) && !/\{\d\}/.test(english) ? digest(english) : english);
      const tables = Object.entries(await exportsOf(file)).map(([name, table]) => {
        const entries = Object.entries(table).map(([english, chinese]) => [keyOf(english), chinese]);
        if (new Set(entries.map(([key]) => key)).size < entries.length)
          fail(`two sentences of ${name} have one digest`);
        return `export const ${name} = ${JSON.stringify(Object.fromEntries(entries))};`;
      });
      return { contents: tables.join('\n'), loader: 'js' };
    });
  },
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
    // JSX becomes Preact's own calls: the runtime that the compiler's types go by is one module more.
    tsconfigRaw: {},
    jsx: 'transform',
    jsxFactory: 'h',
    jsxFragment: 'Fragment',
    inject: [fileURLToPath(import.meta.resolve('preact'))],
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
    plugins: [keysOnce, sentencesByDigest],
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
  const sizes = await Promise.all(
    files.map(async ({ name, contents }) =>
      put(folder, name, name.endsWith('.js') ? await smaller(contents) : contents),
    ),
  );
  await writeFile(path.join(folder, 'manifest.json'), manifest);
  return sizes;
}

/** A module with the same exports: its own names are shorter, and what is left compresses better. */
async function smaller(contents) {
  const { code } = await minify(Buffer.from(contents).toString(), { module: true, ecma: 2020 });
  return Buffer.from(code);
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
