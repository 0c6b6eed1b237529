/**
 * Bursar on the database that the configuration names: a server's, or the embedded one, which is started where nobody
 * has.
 */
import { compose, type Bursar, type ComposeOptions } from './app.module.js';
import { wallClock } from './clock.js';
import type { Config } from './config.js';
import type { Clock } from './core/time.js';
import { startEmbedded } from './store/embedded/embedded.js';

export interface Installation {
  readonly bursar: Bursar;
  /** Closes it; an embedded server is stopped where nobody else uses it. */
  leave(): Promise<void>;
  /** For a process that ends at once: an embedded server is told to end too. */
  endAtOnce(): void;
}

export async function openInstallation(
  config: Config,
  say: (text: string) => void,
  given: Pick<ComposeOptions, 'migrate' | 'watch' | 'reachesOut' | 'example'> = {},
  clock: Clock = wallClock,
): Promise<Installation> {
  const options = { ...given, environment: config.environment, limits: config };
  if (config.databaseUrl !== null) {
    const bursar = await compose(config.databaseUrl, clock, options);
    return { bursar, leave: () => bursar.close(), endAtOnce: () => undefined };
  }
  const embedded = await startEmbedded({
    dataDir: config.dataDir,
    log: config.logLevel === 'debug' ? say : () => undefined,
  });
  try {
    const bursar = await compose(embedded.url, clock, { ...options, folder: embedded.folder });
    return {
      bursar,
      async leave() {
        await bursar.close();
        await embedded.stop();
      },
      endAtOnce: embedded.endAtOnce,
    };
  } catch (error) {
    await embedded.stop();
    throw error;
  }
}
