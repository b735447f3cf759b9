// The commands of `tenon gateway`, as part of the table of all commands.
import { type Command, command, flag, type Group, JSON_OPTION, text, texts } from "./command.js";

export const GATEWAY: Group = {
  kind: "group",
  name: "gateway",
  summary: "sessions that outlive their clients: run it, look at it, say who may reach it",
  fallback: "run",
  commands: [
    command({
      name: "run",
      summary: "serve sessions to any number of clients until it is stopped",
      details: [
        "Editors start one themselves with tenon acp --gateway: there is no need to run this by hand on your own machine. Sessions go on without clients, and turns that a crash or a restart broke off are continued.",
        "Listens at a unix socket of yours alone. With --listen also at an address, where every client needs a token: tenon gateway token create. One gateway is one trust domain: tools run as you, whoever asks for them.",
        "With --store, or TENON_GATEWAY_STORE, which no list of processes shows, several gateways share a PostgreSQL (14 or newer): clients may use any of them, and sessions of one that ends go on at another.",
        "SIGTERM stops it: no new prompts, running turns get 30 s, and what is left goes on at the next start.",
      ],
      options: {
        config: text("DIR", "an agent directory of its own, as TENON_HOME", { completes: "file" }),
        "mcp-config": text("FILE", "add MCP servers to every session", { completes: "file" }),
        model: text("PROVIDER/NAME", "choose the model; tenon models lists them"),
        trace: text("FILE", "record all ACP, MCP and model messages there as NDJSON, without secrets", {
          completes: "file",
        }),
        listen: texts("HOST:PORT", "serve there too, with tokens; loopback unless TLS is given"),
        socket: text("PATH", "the unix socket, instead of the usual one", { completes: "file" }),
        host: texts("NAME", "a name by which the gateway is reached besides its addresses"),
        root: texts("DIR", "sessions may be in this directory only, and below"),
        "tls-cert": text("FILE", "certificate for --listen, as PEM", { completes: "file" }),
        "tls-key": text("FILE", "its key", { completes: "file" }),
        "insecure-http": flag(
          "allow other addresses than loopback without TLS: tokens and conversations can be read on the way",
        ),
        "idle-exit": text("TIME", "end when there was no client and no work for so long: 30m"),
        drain: text("TIME", "how long running turns get when it is stopped; 30s unless given"),
        store: text(
          "URL",
          "keep everything in PostgreSQL, which other gateways may share: postgres://…; files of this machine unless given",
        ),
        node: text("NAME", "what to call this gateway among those that share the store; the host's name unless given"),
        local: flag("the unix socket only, and loopback once tenon inspect asks for the page"),
        json: JSON_OPTION,
      },
      examples: {
        "tenon gateway run": "serves clients on this machine",
        "tenon gateway run --store postgres://tenon@db.example/tenon --listen 0.0.0.0:4711 --tls-cert box.pem --tls-key box.key --root /srv/work":
          "is one of several gateways of a team, which take over each other's sessions",
        "tenon gateway run --listen 0.0.0.0:4711 --tls-cert box.pem --tls-key box.key --root ~/src":
          "serves other machines too, with sessions below ~/src only",
      },
      load: async () => (await import("./commands/gateway/run.js")).runGatewayRun,
    }),
    command({
      name: "status",
      summary: "whether your gateway runs, since when, and what it does",
      options: { json: JSON_OPTION, socket: text("PATH", "of a gateway at another socket", { completes: "file" }) },
      examples: { "tenon gateway status": "shows process, addresses, sessions, clients and open questions" },
      load: async () => (await import("./commands/gateway/control.js")).runGatewayStatus,
    }),
    command({
      name: "stop",
      summary: "end your gateway; what runs goes on at the next start",
      options: {
        json: JSON_OPTION,
        socket: text("PATH", "of a gateway at another socket", { completes: "file" }),
        drain: text("TIME", "how long running turns get; 30s unless given"),
      },
      examples: { "tenon gateway stop --drain 0": "ends it at once" },
      load: async () => (await import("./commands/gateway/control.js")).runGatewayStop,
    }),
    command({
      name: "logs",
      summary: "the last lines of the log of a gateway that an editor started",
      options: { json: JSON_OPTION, lines: text("COUNT", "no more than so many; 50 unless given", { short: "n" }) },
      examples: { "tenon gateway logs -n 20": "prints the last twenty" },
      load: async () => (await import("./commands/gateway/control.js")).runGatewayLogs,
    }),
    command({
      name: "pair",
      summary: "let a phone or another browser in: a link and its QR code",
      details: [
        "The link leads to the page of the gateway, where sessions are followed and questions answered. It holds a code that is good once, for 5 minutes. Five wrong codes, from whomever, make it void.",
        "What it lets in is a device: tenon gateway token list shows it, and tenon gateway token revoke ID ends it.",
      ],
      options: {
        json: JSON_OPTION,
        scopes: texts("SCOPE,…", "what the device may do; read,prompt,approve unless given"),
        name: text("NAME", "what to call the device; what the browser calls itself unless given"),
        socket: text("PATH", "of a gateway at another socket", { completes: "file" }),
      },
      examples: {
        "tenon gateway pair --scopes read,approve --name phone":
          "prints a link and a QR code for a phone that may follow sessions and answer questions",
      },
      load: async () => (await import("./commands/gateway/page.js")).runPair,
    }),
    command({
      name: "token",
      summary: "create, list or revoke the tokens that let programs and other machines in",
      details: [
        "A token is shown once, when it is created. What is kept is a hash of it. It stands for one account and has scopes: read (follow sessions), prompt (open sessions, send prompts, cancel), approve (answer questions), tools (hand over servers), admin (tokens, stop). Revoking it ends its connections within a second.",
        "Clients on this machine need none: they use the unix socket.",
      ],
      arguments: [
        { name: "ACTION", summary: "what to do", choices: ["create", "list", "revoke"] },
        {
          name: "NAME",
          summary: "what to call it; to revoke, also its id, and for a device only that",
          isOptional: true,
        },
      ],
      options: {
        json: JSON_OPTION,
        scopes: texts("SCOPE,…", "read unless given"),
        account: text("NAME", "whose sessions it is for; me unless given"),
        store: text("URL", "of gateways that share a database, as tenon gateway run has it"),
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

export const INSPECT: Command = command({
  name: "inspect",
  summary: "look at sessions in the browser",
  details: [
    "Opens the page of the gateway of this machine, which is started if none runs: for one session, or for all of them. It listens at 127.0.0.1 from then on. The link that is printed lets one browser in, once; it may do what you may, for 12 hours.",
    "The session may run, wait or be stored. One that another process has open, or whose directory is gone, is shown from its journal, read only.",
  ],
  arguments: [
    { name: "SESSION", summary: "its id, or the beginning of its id or title", isOptional: true, completes: "session" },
  ],
  options: {
    last: flag("the session used last: of this directory, else of all"),
    "no-open": flag("only print the link"),
    json: JSON_OPTION,
  },
  examples: {
    "tenon inspect --last": "opens the session used last",
    "tenon inspect --no-open": "prints the link to all sessions",
  },
  load: async () => (await import("./commands/gateway/page.js")).runInspect,
});

export const ATTACH: Command = command({
  name: "attach",
  summary: "join a session in this terminal, beside its other clients",
  details: [
    "Shows the conversation so far and everything that follows, whoever causes it. Questions that are open are asked here too, and the first answer counts. Leaving stops nothing; /cancel stops the turn that runs.",
    "The session may run, wait or be stored: the gateway of this machine is started if none runs. One that a plain tenon acp has open cannot be joined: start that editor with tenon acp --gateway.",
    "Without a terminal each line of the input is a prompt, and calls are refused unless --yes is given.",
  ],
  arguments: [
    { name: "SESSION", summary: "its id, or the beginning of its id or title", isOptional: true, completes: "session" },
  ],
  options: {
    last: flag("the session used last: of this directory, else of all"),
    plain: flag("labelled lines and numbered answers, no escape sequence; for screen readers, as TERM=dumb"),
    watch: flag("only look: send nothing, and be asked nothing"),
    json: flag("print the ACP updates as NDJSON"),
    yes: flag("approve every tool call of your own prompts (never servers or settings of a project's files)"),
    gateway: text("URL", "a gateway elsewhere, wss://… or ws://…; several of its nodes with commas between them"),
    "token-file": text("FILE", "the token for it, in a file only you can read", { completes: "file" }),
    insecure: flag("allow ws:// to another machine, unencrypted"),
  },
  examples: {
    "tenon attach --last": "continues what an editor began, and answers what it waits for",
    "tenon attach 0199a1 --watch": "follows a session without taking part",
  },
  load: async () => (await import("./commands/gateway/attach.js")).runAttach,
});
