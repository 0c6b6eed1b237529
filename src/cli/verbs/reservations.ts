/**
 * bursar reservations: the budget that is held for future runs.
 */
import type { Command } from 'commander';
import type { Reservation } from '../answers.js';
import type { Session } from '../session.js';
import { printable, table } from '../table.js';

export function reservationText({
  id,
  state,
  amount,
  currency,
  team,
  expiresAt,
  holds,
  tag: { key, value },
}: Reservation): string {
  const held = holds.map(({ budget, remaining, currency: of }) => `${budget} ${remaining} ${of}`).join(', ');
  return [
    `${id}: ${amount} ${currency} for team ${team}, ${state}, until ${expiresAt}`,
    `Held: ${held}`,
    `Launch it with the tag ${key}=${value}`,
  ]
    .map((line) => `${printable(line)}\n`)
    .join('');
}

export function register(program: Command, session: Session): void {
  const group = program.command('reservations');
  group
    .command('list', { isDefault: true })
    .description('List reservations, newest first')
    .option('--team <team>', 'only of this team')
    .option('--all', 'also those that are over')
    .action(async ({ team, all }: { team?: string; all?: true }) => {
      const reservations = await (await session.client()).quotes.reservations({
        team: team ?? null,
        active: all !== true,
      });
      session.print({ reservations }, () =>
        table(
          ['id', 'team', 'state', 'amount', 'currency', 'until', 'reason'],
          reservations.map(({ id, team: of, state, amount, currency, expiresAt, reason }) => [
            id,
            of,
            state,
            amount,
            currency,
            expiresAt,
            reason,
          ]),
          'No budget is reserved.\n',
        ),
      );
    });
  group
    .command('release <id>')
    .description('Release a reservation')
    .action(async (id: string) => {
      const reservation = await (await session.client()).quotes.release(id);
      session.print({ reservation }, () => reservationText(reservation));
    });
}
