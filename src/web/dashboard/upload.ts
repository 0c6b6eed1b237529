/** Sends a file with its progress, which fetch cannot report. The file is sent unchanged, with the session's header. */
import { address, SESSION_HEADER, Trouble, troubleOf, type Query } from './api.js';
import { say } from './language.js';

/** @param told called with the share that was sent, 0 to 1 */
export function upload<T>(path: string, query: Query, file: File, onProgress: (share: number) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', address(path, query));
    for (const [name, value] of Object.entries(SESSION_HEADER)) request.setRequestHeader(name, value);
    request.setRequestHeader('content-type', 'application/octet-stream');
    request.setRequestHeader('idempotency-key', crypto.randomUUID());
    request.upload.addEventListener(
      'progress',
      ({ loaded, total, lengthComputable }) => lengthComputable && onProgress(loaded / total),
    );
    request.addEventListener('load', () => {
      if (request.status >= 200 && request.status < 300) resolve(JSON.parse(request.responseText) as T);
      else reject(troubleOf(request.status, request.responseText));
    });
    request.addEventListener('error', () => reject(new Trouble(say('trouble.closed'), 0)));
    request.send(file);
  });
}
