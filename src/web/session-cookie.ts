/**
 * The cookie that a browser sends instead of a key, and why no other site can use it.
 *
 * HttpOnly, SameSite=Strict, and over https Secure under the name prefix __Host- (RFC 6265bis, section 4.1.3), which no
 * other host of the domain can set. A request that changes something must also carry a header that no form and no other
 * origin can send (OWASP, "Cross-Site Request Forgery Prevention Cheat Sheet": custom request headers).
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { denied } from '../core/errors.js';
import type { SignInSettings } from './sign-in.js';

/** Any value will do: a page of another origin cannot send it without permission, and none has it. */
const SESSION_HEADER = 'x-bursar-session';

const READING = new Set(['GET', 'HEAD']);

export interface CookieOptions {
  readonly sameSite: 'Strict' | 'Lax';
  /** 0 removes it. */
  readonly maxAgeSeconds: number;
}

/** Whether the browser speaks https with us or with a proxy in front of us. */
export function isSecure(request: FastifyRequest, { publicUrl }: SignInSettings): boolean {
  if (publicUrl !== null) return publicUrl.startsWith('https:');
  return request.protocol === 'https' || request.headers['x-forwarded-proto'] === 'https';
}

const nameOf = (name: string, secure: boolean): string => `${secure ? '__Host-' : ''}bursar-${name}`;

/** A cookie's value; null where it is not sent. */
export function readCookie(request: FastifyRequest, settings: SignInSettings, name: string): string | null {
  const wanted = `${nameOf(name, isSecure(request, settings))}=`;
  const found = (request.headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .find((pair) => pair.startsWith(wanted));
  return found?.slice(wanted.length) ?? null;
}

/** Adds a cookie to those that the reply already sets. The value needs no quotes. */
export function setCookie(
  request: FastifyRequest,
  reply: FastifyReply,
  settings: SignInSettings,
  name: string,
  value: string,
  { sameSite, maxAgeSeconds }: CookieOptions,
): void {
  const secure = isSecure(request, settings);
  reply.header(
    'set-cookie',
    `${nameOf(name, secure)}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=${sameSite}${secure ? '; Secure' : ''}`,
  );
}

/**
 * @throws Failure denied for a write that another site may have caused: without the header, or from a browser that
 * names another origin.
 */
export function checkSameSite({ method, headers }: FastifyRequest): void {
  if (READING.has(method)) return;
  const from = headers['sec-fetch-site'];
  if (headers[SESSION_HEADER] === undefined || (from !== undefined && from !== 'same-origin'))
    throw denied(`a change with a session needs the header ${SESSION_HEADER}, from a page of this server`);
}
