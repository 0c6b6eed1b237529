/** What the controllers work with, handed in by the composition root. */
import { Inject } from '@nestjs/common';
import type { ZodType } from 'zod';
import type { Policy } from '../core/policy.js';
import type { Clock, Importer } from '../core/ports.js';
import type { Stores } from '../store/stores.js';

export interface WebParts {
  readonly stores: Stores;
  readonly importer: Importer;
  readonly clock: Clock;
  /** Absent: no policy is known here. */
  readonly policies?: readonly Policy[];
  /** One usage record and one usage event as the formats define them, for the documentation. */
  readonly recordSchemas?: { readonly record: ZodType; readonly event: ZodType };
}

export const WEB_PARTS = Symbol('WebParts');

/** Injects the parts into a controller. */
export const InjectParts = (): ParameterDecorator => Inject(WEB_PARTS);
