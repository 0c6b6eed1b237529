/**
 * The archive that the settings name.
 */
import type { ArchivePlace } from '../core/archive.js';
import { invalid, type Problem } from '../core/errors.js';
import type { Clock } from '../core/time.js';
import { folderPlace } from './folder.js';
import { s3Place } from './s3.js';

export interface ArchiveSettings {
  /** A folder, or `s3://bucket/prefix`. */
  readonly place: string;
  /** Absent: AWS's of the region. */
  readonly endpoint: string | null;
  readonly region: string;
  readonly accessKeyId: string | null;
  readonly secretAccessKey: string | null;
}

/** @throws Failure invalid naming every setting that an object store lacks */
export function archivePlace(settings: ArchiveSettings, clock: Clock): ArchivePlace {
  const { place, endpoint, region, accessKeyId, secretAccessKey } = settings;
  const [, bucket, prefix = ''] = /^s3:\/\/([^/]+)(?:\/(.*))?$/.exec(place) ?? [];
  if (bucket === undefined) {
    if (/^\w+:\/\//.test(place))
      throw lacking([{ path: 'BURSAR_ARCHIVE', message: 'is neither a folder nor s3://bucket/prefix' }]);
    return folderPlace(place);
  }
  if (accessKeyId === null || secretAccessKey === null)
    throw lacking([
      ...(accessKeyId === null ? [{ path: 'BURSAR_ARCHIVE_ACCESS_KEY_ID', message: 'is missing' }] : []),
      ...(secretAccessKey === null ? [{ path: 'BURSAR_ARCHIVE_SECRET_ACCESS_KEY', message: 'is missing' }] : []),
    ]);
  return s3Place(
    {
      endpoint: endpoint ?? `https://s3.${region}.amazonaws.com`,
      region,
      bucket,
      prefix: prefix.replace(/\/+$/, ''),
      accessKeyId,
      secretAccessKey,
    },
    clock,
  );
}

const lacking = (problems: readonly Problem[]): Error =>
  invalid(`the archive: ${problems.map(({ path, message }) => `${path} ${message}`).join('; ')}`, problems);
