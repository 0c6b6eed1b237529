/**
 * A part in an installation: its declaration, the connection from the settings, and the faults of the settings. Each
 * part is checked separately, so that one part's fault hides no other.
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

/** A provider of which no setting is set: only its settings were read. */
export interface AbsentProvider {
  readonly kind: 'provider';
  readonly part: Pick<Provider, 'name' | 'settings'>;
  readonly connection: null;
  readonly problems: readonly never[];
}
export type InstalledProvider = Installed<'provider', Provider, ProviderConnection>;
export type InstalledTelemetry = Installed<'telemetry', TelemetrySource, TelemetryConnection>;
export type InstalledChannel = Installed<'channel', Channel, ChannelConnection>;
export type InstalledPart = InstalledProvider | AbsentProvider | InstalledTelemetry | InstalledChannel;

/** The facts about the queue that need no work in it. */
export interface QueueFacts {
  readonly kind: 'postgresql' | 'redis';
  /** Of the server, where it says it. */
  readonly version: string | null;
  /** False: its tables are not there yet. */
  readonly migrated: boolean;
  /** Redis only: what it does when its memory is full; null: it does not say. */
  readonly evictionPolicy: string | null;
}
