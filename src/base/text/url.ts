// Whether a text is an address.

/**
 * In place of `URL.canParse`: in a process that has called it often, Node 20's says no to every address with a letter such as
 * "ä" in it. Rules would not match then, and passwords in such addresses would be shown.
 */
export function isUrl(text: string, base?: string): boolean {
  try {
    return new URL(text, base).href !== "";
  } catch {
    return false;
  }
}
