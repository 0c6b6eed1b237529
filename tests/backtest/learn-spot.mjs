#!/usr/bin/env node
/**
 * Learns BUILT_IN_PARAMETERS of src/planning/spot/availability-model.ts again, and prints them. Needs `npm run build`
 * first; seconds. tests/backtest/learned-constants.test.ts compares.
 *
 *   node tests/backtest/learn-spot.mjs [RECORDINGS]
 *
 * Of JSON lines, one a recording, with `available` (1 is available). Unless given they are the four zones of
 * tests/fixtures/spot-availability.
 */
import path from 'node:path';
import { fitAvailability } from '../../dist/src/planning/spot/availability-model.js';
import { readRecordings } from './spot-recordings.mjs';

const file = process.argv[2] ?? path.join(import.meta.dirname, '../fixtures/spot-availability/recordings.jsonl.gz');
console.log(JSON.stringify(fitAvailability(readRecordings(file)), null, 2));
