/**
 * The seed of the property tests: free, so that other cases are tried every time, and one for the whole run, so that
 * BURSAR_PROPERTY_SEED tries the same ones again. run.mjs draws and prints it; without it fast-check draws one for each
 * property, and prints that with a failure.
 */
import { configureGlobal } from 'fast-check';

const seed = Number(process.env['BURSAR_PROPERTY_SEED'] || Number.NaN);
if (Number.isSafeInteger(seed)) configureGlobal({ seed });
