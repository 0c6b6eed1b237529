/** The migrations in the order in which they run. A new one is added at the end and never edited after a release. */
import { Foundation1764000000001 } from './0001-foundation.js';
import { Policies1764000000002 } from './0002-policies.js';

export const migrations = [Foundation1764000000001, Policies1764000000002];
