/**
 * How temporary folders of a process are named, so that the next start on the same machine removes those of processes
 * that were killed: they hold bills.
 */
export const temporaryPrefix = (host: string): string => `bursar-upload-${host.replace(/[^\w.]/g, '_')}-`;
