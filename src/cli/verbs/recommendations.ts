/** bursar recommend, actions, approve, reject, rollback, savings: what could be saved, and what people decided about it. */
import type { Command } from 'commander';
import { missing } from '../../core/errors.js';
import type { StoredRecommendation } from '../../store/recommendations.js';
import type { Session } from '../session.js';
import { table } from '../table.js';

export function addRecommendations(program: Command, session: Session): void {
  program.command('recommend')
    .description('List the open recommendations with what each would save, and on what evidence.')
    .option('--team <team>', 'only of this team')
    .addHelpText('after', `
An estimate comes with an 80 % interval and the numbers that it was made of: --json has them.

Example:
  bursar recommend --team research`)
    .action(async ({ team }: { team?: string }) => {
      const recommendations = await (await session.door()).recommendations({ team: team ?? null, status: 'open' });
      session.print({ recommendations }, () => (recommendations.length === 0 ? 'Nothing to recommend.\n' : table(
        ['id', 'team', 'action', 'target', 'saves a month', 'from', 'to', 'currency', 'why'],
        recommendations.map((r) => [r.id, r.team, r.action, r.target, r.estimatedMonthlySavings ?? 'unknown', r.estimatedMonthlySavingsLow, r.estimatedMonthlySavingsHigh, r.currency, r.title]))));
    });

  program.command('actions')
    .description('List the recommendations that somebody decided.')
    .option('--team <team>', 'only of this team')
    .addHelpText('after', '\nNo action is carried out yet: an approval is recorded, and waits.\n\nExample:\n  bursar actions')
    .action(async ({ team }: { team?: string }) => {
      const door = await session.door();
      const ofTeam = { team: team ?? null };
      const actions = [...(await door.recommendations({ ...ofTeam, status: 'approved' })), ...(await door.recommendations({ ...ofTeam, status: 'rejected' }))];
      session.print({ actions }, () => (actions.length === 0 ? 'Nothing was decided yet.\n' : table(['id', 'team', 'action', 'target', 'status', 'decided by'],
        actions.map((a) => [a.id, a.team, a.action, a.target, a.status, a.decidedBy]))));
    });

  decision(program, session, 'approve', 'approved');
  decision(program, session, 'reject', 'rejected');

  program.command('rollback')
    .description('Take an action back.')
    .argument('<id>', 'of the action')
    .addHelpText('after', '\nExample:\n  bursar rollback act-0123456789abcdef')
    .action((id: string) => {
      throw missing(`there is no action ${id}: this version carries no action out, so there is nothing to take back`);
    });

  program.command('savings')
    .description('Show the ledger of savings, each measured against what would have happened otherwise.')
    .addHelpText('after', '\nExample:\n  bursar savings')
    .action(() => {
      session.note('No saving is claimed: this version carries no action out, and an estimate is not a saving.');
      session.print({ savings: [] }, () => 'The ledger is empty.\n');
    });
}

function decision(program: Command, session: Session, verb: 'approve' | 'reject', status: 'approved' | 'rejected'): void {
  program.command(verb)
    .description(`${verb === 'approve' ? 'Approve' : 'Reject'} a recommendation. The decision is kept, with your name.`)
    .argument('<id>', 'as recommend lists it')
    .addHelpText('after', `\nExample:\n  bursar ${verb} rec-0123456789abcdef`)
    .action(async (id: string) => {
      const recommendation: StoredRecommendation = await (await session.door()).decide(id, status);
      session.print({ recommendation }, () => `${recommendation.id} is ${status}: ${recommendation.action} ${recommendation.target}\n`);
      if (status === 'approved') session.note('This version carries no action out: the approval is recorded, the rest is yours to do.');
    });
}
