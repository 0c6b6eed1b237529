/** bursar mcp: Bursar's tools for a model, on standard input and output. */
import type { Command } from 'commander';
import { textOf, failureTextOf } from '../failures.js';
import type { Session } from '../session.js';
import { WrongUse } from '../usage-error.js';

export function register(program: Command, session: Session): void {
  program
    .command('mcp')
    .addHelpText(
      'after',
      `
It speaks on standard input and output, because clients of the protocol start servers that way. Each tool is a
read-only request of the API, with your key and its teams: a key with the scope read is enough. A person carries out
what it proposes.

Example, for the settings of such a client:
  { "mcpServers": { "bursar": { "command": "bursar", "args": ["mcp"],
    "env": { "BURSAR_URL": "https://bursar.example.com", "BURSAR_API_KEY": "..." } } } }`,
    )
    .action(async () => {
      const { stdin, stdout } = session.context;
      if (stdin === undefined) throw new WrongUse('there is no standard input to serve');
      if (session.json) throw new WrongUse('mcp speaks a protocol of its own: it cannot be combined with --json');
      const [{ serveTools }, { INSTRUCTIONS, toolsOf }] = await Promise.all([
        import('../mcp/protocol.js'),
        import('../mcp/tools.js'),
      ]);
      const { api } = await session.client();
      await serveTools(stdin, (line) => stdout.write(`${line}\n`), {
        tools: toolsOf(api),
        version: program.version() ?? '',
        instructions: INSTRUCTIONS,
        explain: (error) => textOf(failureTextOf(error)).trim(),
      });
    });
}
