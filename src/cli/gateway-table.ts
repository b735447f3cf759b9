// The commands of `tenon gateway`, as part of the table of all commands.
import { command, type Group, JSON_OPTION, text, texts } from "./command.js";

export const GATEWAY: Group = {
  kind: "group",
  name: "gateway",
  summary: "sessions that outlive their clients: who may reach them",
  commands: [
    command({
      name: "token",
      summary: "create, list or revoke the tokens that let programs and other machines in",
      details: [
        "A token is shown once, when it is created. What is kept is a hash of it. It stands for one account and has scopes: read (follow sessions), prompt (open sessions, send prompts, cancel), approve (answer questions), tools (hand over servers), admin (tokens, stop). Revoking it ends its connections within a second.",
        "Clients on this machine need none: they use the unix socket.",
      ],
      arguments: [
        { name: "ACTION", summary: "what to do", choices: ["create", "list", "revoke"] },
        { name: "NAME", summary: "what to call it; to revoke, also its id", isOptional: true },
      ],
      options: {
        json: JSON_OPTION,
        scopes: texts("SCOPE,…", "read unless given"),
        account: text("NAME", "whose sessions it is for; me unless given"),
        expires: text("TIME", "how long it is good: 90d unless given, 12h, 30m, never"),
      },
      examples: {
        "tenon gateway token create phone --scopes read,approve":
          "prints a token that may follow sessions and answer questions",
        "tenon gateway token list": "shows each with its scopes, its end and its last use",
        "tenon gateway token revoke phone": "ends it, and its connections",
      },
      load: async () => (await import("./commands/gateway/token.js")).runToken,
    }),
  ],
};
