/**
 * What a first start says: loads the example where there is nothing, runs the line once with progress, prints the
 * summary.
 */
import type { Policy } from '../core/policy/policy.js';
import type { Importer, ProviderConnection } from '../core/ports.js';
import type { Stores } from '../store/stores.js';
import { wantsExample, type PodSource } from './example.js';
import { playStory, type StoryRequest } from './story.js';
import { summarise } from './summary.js';

/** The company of the example: its cloud, when it began, and how its cloud is looked at. */
export interface ExampleCompany {
  readonly cloud: ProviderConnection;
  /** Epoch milliseconds, a whole hour. */
  readonly began: number;
  readonly collect: (now: number) => Promise<void>;
}

export interface WelcomeRequest {
  readonly bursar: {
    readonly stores: Stores;
    readonly importer: Importer;
    readonly policies: readonly Policy[];
    readonly runner: { drain(progress: (stage: string, done: number) => void): Promise<void> };
    readonly organisation: string;
  };
  /** What an empty database gets; null: it stays empty. */
  readonly example: ExampleCompany | null;
  /** Whether an installation without a key is given one, which is said here; where logs are kept it is not. */
  readonly firstKey: boolean;
  readonly pods: PodSource;
  readonly clock: StoryRequest['clock'];
  readonly say: (text: string) => void;
}

export async function welcome({ bursar, example, firstKey, pods, clock, say }: WelcomeRequest): Promise<void> {
  const { stores, importer, runner, organisation, policies } = bursar;
  if (example !== null && (await wantsExample(stores, organisation))) {
    say('The database is empty: loading the bundled example (BURSAR_EXAMPLE=off skips it).');
    await playStory({
      stores,
      importer,
      organisation,
      policies,
      ...example,
      clock,
      pods,
      drain: () => runner.drain((stage, done) => say(`  ${stage.padEnd(20)} ${String(done).padStart(5)} done`)),
      onStep: (step) => say(`  loading ${step} ...`),
    });
    say('');
    say(await summarise(stores, organisation, clock.now()));
  }
  if (!firstKey) {
    if ((await stores.keys.list(organisation, null, 1)).length === 0)
      say('There is no key yet. Create one on this machine: bursar keys create <name> --role admin');
    return;
  }
  // Made last: a key that was made before a start that was cut short would never have been seen by anybody.
  const key = await stores.keys.firstKey(organisation);
  if (key !== null) {
    say(`The admin key of this installation, shown once (only its hash is kept):\n\n  ${key}\n`);
  }
}
