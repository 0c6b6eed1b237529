/**
 * Prompts for a person: a question, or a secret, which is not shown and which a program may also pass in.
 */
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';

export async function readSecret(prompt: string): Promise<string> {
  if (process.stdin.isTTY !== true) return (await text(process.stdin)).trim();
  process.stderr.write(prompt);
  // The echo of readline is discarded.
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output, terminal: true });
  try {
    return (await lines.question('')).trim();
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
}

export async function ask(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await lines.question(question);
  } finally {
    lines.close();
  }
}
