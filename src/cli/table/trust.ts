// The commands about what may be used: projects' servers, tools, and secrets.
import { type Command, command, type Group, JSON_OPTION } from "./command.js";

/** Taken only to say that it does nothing: other programs have it, and people try. */
const NO_YES = { type: "boolean", isHidden: true, summary: "approves nothing" } as const;

function decision(name: "approve" | "deny" | "revoke", summary: string, does: string): Command {
  return command({
    name,
    summary,
    arguments: [{ name: "SERVER", summary: "a server of the project", isOptional: true, completes: "server" }],
    options: {
      json: JSON_OPTION,
      settings: { type: "boolean", summary: "what the project's files set besides servers" },
      all: {
        type: "boolean",
        summary: name === "approve" ? "everything that is open; asks you to confirm" : "everything",
      },
      yes: NO_YES,
    },
    examples: [{ line: `tenon trust ${name} build`, does }],
    load: async () => (await import("../configuration/trust.js")).runDecision(name),
  });
}

export const TRUST: Group = {
  kind: "group",
  name: "trust",
  summary: "what this project's files may bring, and what you allowed or refused for good",
  fallback: "list",
  commands: [
    command({
      name: "list",
      summary: "show in full what this project's files want to bring",
      options: { json: JSON_OPTION, yes: NO_YES },
      examples: [{ line: "tenon trust", does: "shows open questions, what was decided, and what is granted here" }],
      load: async () => (await import("../configuration/trust.js")).runTrustList,
    }),
    decision("approve", "let exactly this be used", "shows the server in full and approves exactly that"),
    decision("deny", "do not use it, and do not ask again", "ends the question until its entry changes"),
    decision("revoke", "forget what was decided", "asks again the next time"),
    command({
      name: "approvals",
      summary: "what you allowed or refused for good, in every project",
      options: { json: JSON_OPTION },
      examples: [{ line: "tenon trust approvals", does: "lists it with the id that forget takes" }],
      load: async () => (await import("../configuration/approvals.js")).runApprovals,
    }),
    command({
      name: "forget",
      summary: "be asked again about a command, a site or a tool",
      arguments: [
        { name: "WHICH", summary: "an id of tenon trust approvals, a server, or server/tool", isOptional: true },
      ],
      options: { json: JSON_OPTION, all: { type: "boolean", summary: "forget every grant and every never" } },
      examples: [{ line: "tenon trust forget github/create_issue", does: "the next call of it asks again" }],
      load: async () => (await import("../configuration/approvals.js")).runForget,
    }),
    command({
      name: "grant",
      summary: "allow every tool a server has now, as it is defined now, in this project",
      details: [
        "Connects to the server, shows its tools and asks you to confirm. A tool that changes or is added later is asked about.",
      ],
      arguments: [{ name: "SERVER", summary: "its name in tenon mcp list", completes: "server" }],
      options: {
        json: JSON_OPTION,
        timeout: { type: "string", value: "SECONDS", summary: "wait no longer than this for the server to be ready" },
      },
      examples: [{ line: "tenon trust grant github", does: "shows its tools and allows them in this project" }],
      load: async () => (await import("../configuration/approvals.js")).runGrant,
    }),
  ],
};

function secret(name: "set" | "check" | "remove", summary: string, does: string): Command {
  return command({
    name,
    summary,
    arguments: [{ name: "NAME", summary: 'the name behind "keyring:" in your configuration' }],
    options: { json: JSON_OPTION },
    examples: [{ line: `tenon secret ${name} github-token`, does }],
    load: async () => (await import("../commands/secret.js")).runSecretCommand(name),
  });
}

export const SECRET: Group = {
  kind: "group",
  name: "secret",
  summary: 'secrets in the system\'s keyring: "keyring:NAME" in your own file stands for one',
  commands: [
    secret(
      "set",
      "keep a secret; typed when asked for, or piped in, never a word of the command",
      "asks for the value and keeps it",
    ),
    secret("check", "whether it is there", "exits 3 when it is not"),
    secret("remove", "take it out", "takes it out of the keyring"),
  ],
};
