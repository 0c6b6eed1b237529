/** What the build of the dashboard made. */
export interface BuiltFile {
  readonly name: string;
  /** Sizes in bytes: as it is, and compressed. */
  readonly bytes: number;
  readonly gzip: number;
  readonly br: number;
}

/** Builds into a folder, which is emptied first. */
export function buildDashboard(folder: string): Promise<BuiltFile[]>;
