/**
 * The Model Context Protocol over standard input and output, as far as a server of tools needs it (modelcontextprotocol.io,
 * specification 2025-06-18: Base Protocol, Lifecycle, Transports/stdio, Server Features/Tools): JSON-RPC 2.0, one
 * message a line.
 *
 * It knows no tool. Every message is answered or ignored, whatever it contains; only the end of its input ends the
 * server.
 */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its arguments: an object. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** The result as JSON; throws an error with a sentence for the caller. */
  run(given: Readonly<Record<string, unknown>>): Promise<unknown>;
}

export interface ServerParts {
  readonly tools: readonly Tool[];
  readonly version: string;
  /** The instructions for the model about the server. */
  readonly instructions: string;
  /** A failure as what the model reads of it. */
  readonly explain: (error: unknown) => string;
}

type Id = string | number;
interface Message {
  readonly id?: Id | undefined;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** The newest first. */
const VERSIONS = ['2025-06-18', '2025-03-26', '2024-11-05'];
const ERRORS = { parse: -32_700, request: -32_600, method: -32_601, params: -32_602 } as const;
/** A line is held in memory as a whole. */
const MOST_CHARACTERS = 8 << 20;

class Refused extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

/**
 * Serves until the input ends, and then until every answer is given.
 * @param say one line without its end
 */
export async function serveTools(
  input: AsyncIterable<string | Uint8Array>,
  say: (line: string) => void,
  parts: ServerParts,
): Promise<void> {
  const answers = new Set<Promise<void>>();
  for await (const line of linesOf(input)) {
    if (line?.trim() === '') continue;
    const answer = answerTo(line, parts)
      .then((reply) => void (reply !== null && say(JSON.stringify({ jsonrpc: '2.0', ...reply }))))
      .finally(() => answers.delete(answer));
    answers.add(answer);
  }
  await Promise.all(answers);
}

/** Null: nothing is to be answered. @param line null: one that was too long */
async function answerTo(line: string | null, parts: ServerParts): Promise<Readonly<Record<string, unknown>> | null> {
  let id: Id | null = null;
  try {
    const message = messageIn(line);
    if (message === null) return null;
    id = message.id ?? null;
    const result = await resultOf(message, parts);
    return message.id === undefined ? null : { id: message.id, result };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { id, error: { code: error.code, message: error.message } };
  }
}

/** Null: an answer to something that was never asked. */
function messageIn(line: string | null): Message | null {
  if (line === null) throw new Refused(ERRORS.request, `a message has at most ${MOST_CHARACTERS} characters`);
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new Refused(ERRORS.parse, 'this is not JSON');
  }
  if (!isObject(value) || value['jsonrpc'] !== '2.0')
    throw new Refused(ERRORS.request, 'this is not a message of JSON-RPC 2.0');
  const { id, method, params = {} } = value;
  if (typeof method !== 'string') {
    if ('result' in value || 'error' in value) return null;
    throw new Refused(ERRORS.request, 'the message has no method');
  }
  const isId = id === undefined || typeof id === 'string' || typeof id === 'number';
  if (!isId || !isObject(params)) throw new Refused(ERRORS.request, 'the id or the params are of another type');
  return { id, method, params };
}

async function resultOf({ method, params }: Message, parts: ServerParts): Promise<unknown> {
  switch (method) {
    case 'initialize': {
      const asked = params['protocolVersion'];
      return {
        protocolVersion: VERSIONS.find((one) => one === asked) ?? VERSIONS[0],
        capabilities: { tools: {} },
        serverInfo: { name: 'bursar', version: parts.version },
        instructions: parts.instructions,
      };
    }
    case 'ping':
      return {};
    case 'tools/list':
      return { tools: parts.tools.map(listed) };
    case 'tools/call':
      return called(params, parts);
    default:
      if (method.startsWith('notifications/')) return {};
      throw new Refused(ERRORS.method, `there is no method ${method}`);
  }
}

const listed = ({ name, description, inputSchema }: Tool): unknown => ({
  name,
  description,
  inputSchema,
  annotations: { readOnlyHint: true, openWorldHint: false },
});

async function called({ name, arguments: given = {} }: Message['params'], parts: ServerParts): Promise<unknown> {
  const tool = parts.tools.find((one) => one.name === name);
  if (tool === undefined) throw new Refused(ERRORS.params, `there is no tool ${String(name)}`);
  if (!isObject(given)) throw new Refused(ERRORS.params, 'the arguments are not an object');
  try {
    return { content: [{ type: 'text', text: JSON.stringify(await tool.run(given)) }] };
  } catch (error) {
    return { content: [{ type: 'text', text: parts.explain(error) }], isError: true };
  }
}

/** Null: a line that was too long. Its end is dropped as it comes, and the next one is read as any other. */
async function* linesOf(input: AsyncIterable<string | Uint8Array>): AsyncGenerator<string | null> {
  const decoder = new TextDecoder();
  let rest: string | null = '';
  for await (const chunk of input) {
    const [first = '', ...others] = (typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })).split(
      '\n',
    );
    rest = longer(rest, first);
    for (const other of others) {
      yield rest;
      rest = longer('', other);
    }
  }
  yield rest;
}

const longer = (line: string | null, by: string): string | null =>
  line === null || line.length + by.length > MOST_CHARACTERS ? null : line + by;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
