/**
 * A part as an installation has it: its declaration, the connection that the settings make, and what is wrong with
 * them.
 *
 * One part's wrong settings say nothing about another's: each stands by itself, so that one fault hides no other.
 */
import type { Problem } from './errors.js';
import type { Channel, ChannelConnection } from './alert/channel.js';
import type { Provider, ProviderConnection, TelemetryConnection, TelemetrySource } from './ports.js';

interface Installed<Kind extends string, Part, Connection> {
  readonly kind: Kind;
  readonly part: Part;
  /** Null: none of its settings is there, or some are wrong. */
  readonly connection: Connection | null;
  readonly problems: readonly Problem[];
}

export type InstalledProvider = Installed<'provider', Provider, ProviderConnection>;
export type InstalledTelemetry = Installed<'telemetry', TelemetrySource, TelemetryConnection>;
export type InstalledChannel = Installed<'channel', Channel, ChannelConnection>;
export type InstalledPart = InstalledProvider | InstalledTelemetry | InstalledChannel;

/** What can be told of the queue without working in it. */
export interface QueueFacts {
  readonly kind: 'postgresql' | 'redis';
  /** Of the server, where it says it. */
  readonly version: string | null;
  /** False: its tables are not there yet. */
  readonly migrated: boolean;
  /** Redis only: what it does when its memory is full; null: it does not say. */
  readonly evictionPolicy: string | null;
}
