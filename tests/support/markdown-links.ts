/** The links of a Markdown page, and the headings that it has. Reads texts; opens no address. */

export interface Link {
  readonly target: string;
  readonly line: number;
}

/** Lines outside fenced code, each with its number; the others are empty. */
function prose(markdown: string): string[] {
  let fence: string | null = null;
  return markdown.split('\n').map((line) => {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence === null && mark !== undefined) fence = mark;
    else if (fence !== null) {
      if (mark?.startsWith(fence) === true) fence = null;
    } else return line;
    return '';
  });
}

/**
 * Links and pictures `[text](target)` outside code. Reference links and bare addresses are not looked for: the house
 * writes none.
 */
export function linksOf(markdown: string): Link[] {
  return prose(markdown).flatMap((line, at) =>
    [...line.replaceAll(/`[^`]*`/g, '').matchAll(/\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g)].map(([, target = '']) => ({
      target,
      line: at + 1,
    })),
  );
}

/**
 * The anchors of a page's headings as GitHub makes them: letters, digits, blanks and dashes remain, in small letters,
 * blanks as dashes; a second one gets -1.
 */
export function anchorsOf(markdown: string): Set<string> {
  const seen = new Map<string, number>();
  const anchors = new Set<string>();
  for (const line of prose(markdown)) {
    const heading = /^#{1,6}\s+(.*?)\s*#*$/.exec(line)?.[1];
    if (heading === undefined) continue;
    const text = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1');
    const slug = text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
      .replaceAll(' ', '-');
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    anchors.add(count === 0 ? slug : `${slug}-${count}`);
  }
  return anchors;
}
