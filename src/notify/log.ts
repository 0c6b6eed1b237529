/**
 * The log: one line on standard error per alert. It always exists, needs no settings, and receives the alerts while no
 * other channel is connected.
 */
import { plainText } from '../core/alert/message.js';
import type { Channel } from '../core/alert/channel.js';
import { formatInstant } from '../core/time.js';

export const channel: Channel = {
  name: 'log',
  description: 'One line per alert on standard error.',
  settings: [],
  connect: (settings, clock) => ({
    name: 'log',
    leastPauseMs: 0,
    whenUnknown: 'leave',
    threads: false,
    pictures: 'none',
    check: () => Promise.resolve('one line per alert on standard error, where no other channel is connected'),
    async send({ message }) {
      const text = oneLine(plainText(message));
      // As the process' own log has it: nothing there is read that is not a line of JSON.
      const event = {
        time: formatInstant(clock.now()),
        level: message.severity === 'critical' ? 'warn' : 'info',
        name: 'alert',
        message: text,
        severity: message.severity,
      };
      process.stderr.write(
        `${settings['BURSAR_LOG_FORMAT'] === 'json' ? JSON.stringify(event) : `alert (${message.severity}): ${text}`}\n`,
      );
      return { kind: 'sent', reference: null };
    },
  }),
};

/** People's names for things may contain anything: one alert stays one line. */
const oneLine = (text: string): string => text.replaceAll('\n', '; ').replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');
