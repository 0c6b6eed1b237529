/**
 * What the command line works with on this machine's database: the API in this process, which listens to nobody, and
 * the line. Loaded by main.ts for the verbs that need it.
 */
import 'reflect-metadata';
import type { LoggerService } from '@nestjs/common';
import type { Bursar } from './app.module.js';
import { parquet } from './archive/parquet.js';
import { archivePlace, type ArchiveSettings } from './archive/place.js';
import { settleRestore } from './application/action/after-restore.js';
import type { LocalBursar, Need } from './cli/context.js';
import { wallClock } from './clock.js';
import type { Config } from './config.js';
import { principalText } from './core/actor.js';
import { invalid } from './core/errors.js';
import type { Clock } from './core/time.js';
import { openInstallation } from './installation.js';
import { plotter } from './rendering/plotter.js';
import { renderers } from './rendering/reports.js';
import { ENQUEUED_CHANNEL } from './store/work.js';
import { administratorOf, openInProcess, type InProcess } from './web/in-process.js';
import { WebModule } from './web/web.module.js';

type Composed = Pick<Bursar, 'stores' | 'importer' | 'organisation' | 'policies' | 'leaves'> & {
  readonly runner: Pick<Bursar['runner'], 'drain'>;
};

/**
 * @param need what the verb needs: doctor connects the parts itself, one by one, so that a wrong setting of one does
 * not
 *     keep it from the rest
 */
export async function connect(config: Config, need: Need, say: (text: string) => void): Promise<LocalBursar> {
  const { bursar, leave } = await openInstallation(need.parts ? config : { ...config, environment: {} }, say, {
    migrate: need.migrate,
    reachesOut: false,
  });
  return localBursar(bursar, wallClock, { close: leave, archive: config.archive });
}

export interface LocalOptions {
  /** Absent: Nest's Logger as it is. */
  readonly logger?: LoggerService | false;
  /** Absent: there is none. */
  readonly archive?: ArchiveSettings | null;
  close(): Promise<void>;
}

export function localBursar(
  bursar: Composed,
  clock: Clock,
  { close, archive = null, ...options }: LocalOptions,
): LocalBursar {
  const { stores, importer, organisation, policies, runner, leaves } = bursar;
  const opened: InProcess[] = [];
  return {
    stores,
    organisation,
    policies,
    leaves,
    drain: (progress, isEnough) => runner.drain(progress, isEnough),
    isServed: () => stores.db.isHeard(ENQUEUED_CHANNEL),
    async api(user, progress) {
      const administrator = { principal: administratorOf(organisation, user), progress };
      const parts = { stores, importer, clock, policies, plotter, reports: renderers, administrator };
      const api = await openInProcess(WebModule.register(parts), options);
      opened.push(api);
      return api;
    },
    migrate: () => stores.db.migrate(),
    async restored(user) {
      const by = principalText({ kind: 'cli', id: user });
      return (await settleRestore(stores, organisation, clock.now(), by))?.refused ?? [];
    },
    archive() {
      if (archive === null) throw invalid('there is no archive: BURSAR_ARCHIVE names a folder, or s3://bucket/prefix');
      return { place: archivePlace(archive, clock), format: parquet };
    },
    async close() {
      for (const api of opened) await api.close();
      await close();
    },
  };
}
