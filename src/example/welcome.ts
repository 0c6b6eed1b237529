/**
 * What a first start says: loads the example where there is nothing, runs the line once with progress, prints the
 * summary.
 */
import type { Clock } from '../core/time.js';
import type { Importer } from '../core/ports.js';
import type { Stores } from '../store/stores.js';
import { loadExample, wantsExample, type PodSource } from './example.js';
import { summarise } from './summary.js';

export interface WelcomeRequest {
  readonly bursar: {
    readonly stores: Stores;
    readonly importer: Importer;
    readonly runner: { drain(progress: (stage: string, done: number) => void): Promise<void> };
    readonly organisation: string;
  };
  /** Whether an empty database gets the example. */
  readonly example: boolean;
  /** Whether an installation without a key is given one, which is said here; where logs are kept it is not. */
  readonly firstKey: boolean;
  readonly pods: PodSource;
  readonly clock: Clock;
  readonly say: (text: string) => void;
}

export async function welcome({ bursar, example, firstKey, pods, clock, say }: WelcomeRequest): Promise<void> {
  const { stores, importer, runner, organisation } = bursar;
  if (example && (await wantsExample(stores, organisation))) {
    say('The database is empty: loading the bundled example (BURSAR_EXAMPLE=off leaves it out).');
    const facts = await loadExample(stores, importer, organisation, pods, (step) => say(`  loading ${step} ...`));
    say(`  ${facts.pods} pods read, ${facts.metered} used a GPU and are metered, ${facts.unplaced} found no node`);
    await runner.drain((stage, done) => say(`  ${stage.padEnd(20)} ${String(done).padStart(5)} done`));
    say('');
    say(await summarise(stores, organisation, clock.now()));
  }
  if (!firstKey) {
    if ((await stores.keys.list(organisation, null, 1)).length === 0)
      say('There is no key yet. Make one where this runs: bursar keys create <name> --role admin');
    return;
  }
  // Made last: a key that was made before a start that was cut short would never have been seen by anybody.
  const key = await stores.keys.firstKey(organisation);
  if (key !== null) {
    say(`The admin key of this installation, shown once (only its hash is kept):\n\n  ${key}\n`);
  }
}
