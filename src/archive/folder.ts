/**
 * An archive in a local or mounted folder. A file appears as a whole or not at all.
 */
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import path from 'node:path';
import type { ArchivePlace } from '../core/archive.js';
import { missing, unavailable } from '../core/errors.js';

export function folderPlace(folder: string): ArchivePlace {
  const root = path.resolve(folder);
  return {
    name: root,
    async write(name, bytes) {
      const file = path.join(root, name);
      try {
        await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
        const draft = await open(`${file}.part`, 'w', 0o600);
        try {
          await draft.writeFile(bytes);
          await draft.sync();
        } finally {
          await draft.close();
        }
        await rename(`${file}.part`, file);
      } catch (cause) {
        throw unavailable(`${file} cannot be written: ${reasonOf(cause)}`, cause);
      }
    },
    async read(name) {
      const file = path.join(root, name);
      try {
        return await readFile(file);
      } catch (cause) {
        if ((cause as { code?: unknown }).code === 'ENOENT') throw missing(`${file} does not exist`);
        throw unavailable(`${file} cannot be read: ${reasonOf(cause)}`, cause);
      }
    },
  };
}

const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : 'no reason given');
