/**
 * Reads a file that contains JSON or, if a YAML parser was passed in, YAML. Its callers interpret the content.
 */
import { readFile } from 'node:fs/promises';
import { invalid, missing } from '../core/errors.js';

/** @throws Failure missing if the file cannot be read, invalid if it is neither JSON nor YAML. */
export async function readStructured(file: string, parseYaml?: (text: string) => unknown): Promise<unknown> {
  return parseStructured(await textOf(file), file, parseYaml);
}

/** @throws Failure missing if the file cannot be read. */
export async function textOf(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).replace(/^\uFEFF/, '');
  } catch (error) {
    throw missing(`${file} cannot be read: ${error instanceof Error ? error.message : 'no reason given'}`);
  }
}

/** @throws Failure invalid if the text is neither JSON nor YAML. */
export function parseStructured(text: string, file: string, parseYaml?: (text: string) => unknown): unknown {
  const isJson = /^\s*[[{]/.test(text);
  if (!isJson && parseYaml === undefined) throw invalid(`${file} is not JSON`);
  try {
    return isJson || parseYaml === undefined ? (JSON.parse(text) as unknown) : parseYaml(text);
  } catch (error) {
    // YAML's flow style begins as JSON does.
    if (isJson && parseYaml !== undefined) return parseAsYaml(text, file, parseYaml);
    throw unreadable(file, error);
  }
}

function parseAsYaml(text: string, file: string, parseYaml: (text: string) => unknown): unknown {
  try {
    return parseYaml(text);
  } catch (error) {
    throw unreadable(file, error);
  }
}

const unreadable = (file: string, error: unknown): Error =>
  invalid(
    `${file} is neither JSON nor YAML: ${error instanceof Error ? error.message.split('\n', 1)[0] : 'no reason given'}`,
  );

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
