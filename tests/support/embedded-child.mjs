/**
 * A process of its own that uses the embedded PostgreSQL, for tests that kill processes:
 *   node embedded-child.mjs MODULE FOLDER serve|attach
 * It prints one JSON line when it is ready, `{ url, port, owned, log }` or `{ error, kind }`, then waits; a line on
 * standard input, or its end, makes it stop the database and leave.
 */
const [module, dataDir, mode] = process.argv.slice(2);
const { startEmbedded, acquireServeLock } = await import(module);
const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
const log = [];
try {
  const lock = mode === 'serve' ? await acquireServeLock(dataDir) : null;
  const { url, port, owned, stop } = await startEmbedded({
    dataDir,
    log: (message) => log.push(message),
    settings: { fsync: 'off' },
  });
  await lock?.setUrl('http://127.0.0.1:8080');
  say({ url, port, owned, log });
  await new Promise((resolve) => process.stdin.once('data', resolve).once('end', resolve));
  await stop();
  await lock?.release();
  say({ log });
} catch (error) {
  say({ error: error.message, kind: error.kind, log });
}
process.exit();
