/** The log: one line on standard error per alert. It is always there, needs no settings, and is where alerts go while no other channel is connected. */
import { plainText } from '../core/alert-message.js';
import type { Channel } from '../core/ports.js';

export const channel: Channel = {
  name: 'log',
  description: 'One line per alert on standard error.',
  settings: [],
  connect: () => ({
    name: 'log', leastPauseMs: 0, whenUnknown: 'leave', threads: false, picturesApart: false,
    async send({ message }) {
      process.stderr.write(`alert (${message.severity}): ${oneLine(plainText(message))}\n`);
      return { kind: 'told', reference: null };
    },
  }),
};

/** What people name their things may hold anything: a line stays a line. */
const oneLine = (text: string): string => text.replaceAll('\n', '; ').replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');
