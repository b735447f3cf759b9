// The words a log-in page comes to a person with. The address itself is shown beside them, in full.
import { markForeign } from "../../base/text/marking.js";
import type { LoginPage } from "./loopback.js";

/** For a client that shows the address by itself. */
export function pageMessage({ server, issuer, warnings }: LoginPage): string {
  const what = `Log in to the MCP server "${markForeign(server)}" at ${hostOf(issuer)}. Tenon goes on by itself once you have.`;
  return [what, ...warnings.map((warning) => `Careful: ${warning}`)].join("\n");
}

/** For a conversation, as Markdown: the address is a link and what it leads to at the same time. */
export function pageMarkdown(page: LoginPage, command: string): string {
  const careful = page.warnings.map((warning) => `**Careful:** ${warning}`);
  const elsewhere =
    `If your browser is on another machine it cannot come back to this one: cancel, then run ` +
    `\`${command}\` in a terminal here and paste the address it ends at.`;
  return [
    `Log in to **${markForeign(page.server)}** at ${hostOf(page.issuer)}:`,
    `<${page.url.href}>`,
    ...careful,
    `Waiting for you to come back from that page. ${elsewhere}`,
    "",
  ].join("\n\n");
}

function hostOf(issuer: string): string {
  return URL.canParse(issuer) ? new URL(issuer).host : markForeign(issuer);
}
