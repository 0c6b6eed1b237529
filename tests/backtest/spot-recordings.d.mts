export function readRecordings(file: string): Uint8Array[];
