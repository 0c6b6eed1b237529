/**
 * `npm run test:citus`: the integration tests on the Citus cluster of which `CITUS_URL` names a database of the
 * coordinator. That database is only read; what the tests need they make and drop on every node, so the user of the URL
 * may make databases and extensions there. Closes with `N passed, N failed[, N skipped]`.
 */
const { CITUS_URL } = process.env;
if (!CITUS_URL) {
  console.log('CITUS_URL names no database of a Citus coordinator: nothing was tested.');
  process.exitCode = 1;
} else {
  process.env.TEST_CITUS_URL = CITUS_URL;
  const own = process.argv.slice(2);
  if (own.every((one) => one.startsWith('-'))) process.argv.push('tests/integration', 'tests/migrations');
  // A statement there is several, over the network: a run takes longer, and of what is drawn at random less will do.
  if (!own.some((one) => one.startsWith('--testTimeout'))) process.argv.push('--testTimeout=600000');
  process.env.BURSAR_MERGE_RUNS ??= '6';
  await import('./run.mjs');
}
