/** What the controllers use; the composition root provides it. */
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

/** The caller of an application that does not listen: whoever started the process. */
export interface Administrator {
  readonly principal: Principal;
  /** Called with the number of rows of its files read so far. */
  readonly progress?: (rows: number) => void;
}

export interface WebParts {
  readonly stores: Stores;
  readonly importer: Importer;
  readonly clock: Clock;
  /** Absent: no policy is known here. */
  readonly policies?: readonly Policy[];
  /** The tick's failures; absent: this process has no tick. */
  readonly tick?: Pick<WatchedParts, 'stuck'>;
  /** Absent: there are no pictures here. */
  readonly plotter?: BacktestPlotter;
  /** Absent: no report is written here. */
  readonly reports?: ReportRenderers;
  /** One usage record and one usage event as the formats define them, for the documentation. */
  readonly recordSchemas?: { readonly record: ZodType; readonly event: ZodType };
  /** Absent: the default limits. */
  readonly gate?: GateLimits;
  /** Absent: people sign in with keys, at the address of their request. */
  readonly signIn?: SignInSettings;
  /** Absent: nothing is taken from Slack. */
  readonly slack?: { readonly organisation: string; readonly signingSecret: string };
  /**
   * This caller makes every request, without a key, and sees the cause of every error. Only for an application that
   * does not listen (in-process.ts).
   */
  readonly administrator?: Administrator;
  /** Where the built dashboard lies; absent: beside the compiled server. */
  readonly dashboard?: URL;
}

export const WEB_PARTS = Symbol('WebParts');

/** Injects the parts into a controller. */
export const InjectParts = (): ParameterDecorator => Inject(WEB_PARTS);
