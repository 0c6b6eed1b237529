/** Reads a file of a backtest whole: text, or text that is zipped. */
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { invalid, missing, type Problem } from '../core/errors.js';

async function unzipped(file: string): Promise<string> {
  const bytes = await readFile(file);
  const isZipped = bytes[0] === 0x1f && bytes[1] === 0x8b;
  return (isZipped ? await promisify(gunzip)(bytes) : bytes).toString('utf8');
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** One of several files: empty where it cannot be read, which is one more problem. */
export async function readText(path: string, problems: Problem[]): Promise<string> {
  try {
    return await unzipped(path);
  } catch (error) {
    problems.push({ path, message: `cannot be read: ${messageOf(error)}` });
    return '';
  }
}

/**
 * The one file of a kind (`demand`).
 * @throws Failure missing where it is not there, invalid where it cannot be read
 */
export async function readTextOf(kind: string, file: string): Promise<string> {
  try {
    return await unzipped(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw missing(`the ${kind} file ${file} does not exist`);
    throw invalid(`the ${kind} file ${file} cannot be read`, [{ path: file, message: messageOf(error) }]);
  }
}
