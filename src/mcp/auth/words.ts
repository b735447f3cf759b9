// Other people's words in our messages: on one line, bounded, and unable to steer a terminal.
import { OAUTH_LIMITS } from "../../base/limits.js";

export function visible(text: string): string {
  const { wordsChars } = OAUTH_LIMITS;
  const plain = text
    .slice(0, wordsChars * 4)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim();
  return plain.length <= wordsChars ? plain : `${plain.slice(0, wordsChars)}…`;
}

/** The command that brings what is missing. Names are quoted where a shell would split them. */
export function loginCommand(server: string): string {
  return /^[\w.@/-]+$/u.test(server) ? `tenon mcp login ${server}` : `tenon mcp login "${visible(server)}"`;
}
