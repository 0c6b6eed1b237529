/**
 * A part's declaration of a setting: its name, its purpose, and whether it may be shown. Types only.
 */

/** One setting of a provider, read from the environment (or from what stands for it). */
export interface ProviderSetting {
  /** Name of the variable, such as `BURSAR_AWS_REGIONS`. */
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
  /** Never logged, never shown. */
  readonly secret: boolean;
  /**
   * `read`: for looking; `act`: for acting. The second is its own credential: without it the connection is read-only.
   */
  readonly use: 'read' | 'act';
}
