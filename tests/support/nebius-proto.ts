/**
 * Nebius' own protocol buffers as a yardstick, read by protobufjs: whether a call and the messages that it names are as
 * they describe them. It says what is wrong, as sentences; it decides nothing. The files: tests/fixtures/nebius-proto.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import protobuf from 'protobufjs';
import type { Method } from '../../src/providers/nebius/messages.js';
import type { Field, Message } from '../../src/providers/nebius/protobuf.js';
import { ROOT } from './source.js';

const FOLDER = path.join(ROOT, 'tests/fixtures/nebius-proto');

function loaded(): protobuf.Root {
  const root = new protobuf.Root();
  for (const file of readdirSync(FOLDER).filter((name) => name.endsWith('.proto')))
    protobuf.parse(readFileSync(path.join(FOLDER, file), 'utf8'), root, { keepCase: true });
  root.resolveAll();
  return root;
}
export const PROTO = loaded();

const typeOf = (name: string): protobuf.Type | null => {
  const found = PROTO.lookup(name);
  return found instanceof protobuf.Type ? found : null;
};

/** What is wrong with a call as it is written down. */
export function problemsOfMethod({ host, service, name, request, reply }: Method): string[] {
  const found = PROTO.lookup(service);
  if (!(found instanceof protobuf.Service)) return [`${service} is no service`];
  const method = found.methods[name];
  if (method === undefined) return [`${service} has no ${name}`];
  const at = String(found.getOption('(api_service_name)'));
  return [
    ...(at === host ? [] : [`${service} is at ${at}, not at ${host}`]),
    ...takes(method, 'requestType', request),
    ...takes(method, 'responseType', reply),
    ...problemsOfMessage(request),
    ...problemsOfMessage(reply),
  ];
}

function takes(method: protobuf.Method, what: 'requestType' | 'responseType', { name }: Message): string[] {
  method.resolve();
  const own = what === 'requestType' ? method.resolvedRequestType : method.resolvedResponseType;
  return own?.fullName === `.${name}` ? [] : [`${method.name}: its ${what} is ${own?.fullName ?? 'none'}, not ${name}`];
}

/** What is wrong with a message, and with those within it. */
export function problemsOfMessage({ name, fields }: Message): string[] {
  const known = typeOf(name);
  if (known === null) return [`${name} is no message`];
  return Object.entries(fields).flatMap(([field, ours]) => {
    const theirs = known.fields[field];
    return theirs === undefined ? [`${name}.${field} is no field`] : problemsOfField(`${name}.${field}`, ours, theirs);
  });
}

function problemsOfField(where: string, { number, type, many }: Field, theirs: protobuf.Field): string[] {
  const problems: string[] = [];
  if (theirs.id !== number) problems.push(`${where} has the number ${theirs.id}, not ${number}`);
  const own = theirs instanceof protobuf.MapField ? 'map' : theirs.repeated ? 'list' : undefined;
  if (own !== many) problems.push(`${where} is ${own ?? 'single'}, not ${many ?? 'single'}`);
  const resolved = theirs.resolve().resolvedType;
  if (typeof type === 'string') {
    if (theirs.type !== type) problems.push(`${where} is of the type ${theirs.type}, not ${type}`);
  } else if ('words' in type) {
    const words = resolved instanceof protobuf.Enum ? resolved.values : {};
    const ours = Object.fromEntries(type.words.map((word, place) => [word, place]));
    for (const word of new Set([...Object.keys(words), ...type.words]))
      if (words[word] !== ours[word]) problems.push(`${where}: the word ${word} is ${words[word]}, not ${ours[word]}`);
  } else if (resolved?.fullName !== `.${type.name}`)
    problems.push(`${where} is of the type ${theirs.type}, not ${type.name}`);
  else problems.push(...problemsOfMessage(type));
  return problems;
}
