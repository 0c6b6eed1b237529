/** What the controllers work with, handed in by the composition root. */
import type { Clock } from '../core/time.js';
import type { WatchedParts } from '../core/watched.js';
import { Inject } from '@nestjs/common';
import type { ZodType } from 'zod';
import type { Policy } from '../core/policy/policy.js';
import type { BacktestPlotter, Importer, ReportRenderers } from '../core/ports.js';
import type { Principal } from '../store/access/keys.js';
import type { Stores } from '../store/stores.js';
import type { GateLimits } from './gate.js';
import type { SignInSettings } from './sign-in.js';

/** Who asks an application that does not listen: the process itself, for whoever started it. */
export interface Administrator {
  readonly principal: Principal;
  /** Told how many rows of its files have been read. */
  readonly progress?: (rows: number) => void;
}

export interface WebParts {
  readonly stores: Stores;
  readonly importer: Importer;
  readonly clock: Clock;
  /** Absent: no policy is known here. */
  readonly policies?: readonly Policy[];
  /** What of the tick fails; absent: this process has none. */
  readonly tick?: Pick<WatchedParts, 'stuck'>;
  /** Absent: there are no pictures here. */
  readonly plotter?: BacktestPlotter;
  /** Absent: no report is written here. */
  readonly reports?: ReportRenderers;
  /** One usage record and one usage event as the formats define them, for the documentation. */
  readonly recordSchemas?: { readonly record: ZodType; readonly event: ZodType };
  /** Absent: the usual limits. */
  readonly gate?: GateLimits;
  /** Absent: people sign in with keys, at the address that they asked for. */
  readonly signIn?: SignInSettings;
  /** Absent: nothing is taken from Slack. */
  readonly slack?: { readonly organisation: string; readonly signingSecret: string };
  /**
   * Every request is this caller's, without a key, and told the cause of every error. Only for an application that does
   * not listen (in-process.ts).
   */
  readonly administrator?: Administrator;
  /** Where the built dashboard lies; absent: beside the compiled server. */
  readonly dashboard?: URL;
}

export const WEB_PARTS = Symbol('WebParts');

/** Injects the parts into a controller. */
export const InjectParts = (): ParameterDecorator => Inject(WEB_PARTS);
