/**
 * Encrypts a text for the database so that only the session's text opens it: AES-256-GCM under a key that HKDF (RFC
 * 5869) derives from that text. The database alone reveals neither.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

const keyOf = (sessionText: string): Buffer =>
  Buffer.from(hkdfSync('sha256', sessionText, '', 'bursar refresh token', 32));

/** Nonce, tag and ciphertext. */
export function seal(text: string, sessionText: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', keyOf(sessionText), nonce);
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
}

/** Null where it was sealed for another session, or was changed. */
export function unseal(sealed: Buffer, sessionText: string): string | null {
  try {
    const opener = createDecipheriv('aes-256-gcm', keyOf(sessionText), sealed.subarray(0, NONCE_BYTES));
    opener.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    return opener.update(sealed.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + opener.final('utf8');
  } catch {
    return null;
  }
}
