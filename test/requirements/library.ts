// What must hold of the library: a runtime in a program of one's own (issue 21).

export const LIBRARY_REQUIREMENTS = [
  {
    id: "V100",
    text: "createRuntime with a model and mcpServers, createSession with its own, prompt with text, stopReason and usage, stream with one flat union of events",
  },
  {
    id: "V101",
    text: "the library has no surprises: it throws without a model, without its key and for an unknown option; its own tools are off; no user file is read and no state is left",
  },
  {
    id: "V102",
    text: "server entries are those of configuration files; each malformed one gets one error that names its place, none throws a TypeError, none prints a value, the other servers work",
  },
  {
    id: "V103",
    text: "servers of a session change while it lives: addServer, removeServer, servers, ready for one or all; a server that breaks is connected again and both are told",
  },
  {
    id: "V104",
    text: "tools are listed, called, searched and found by source; a call that is unknown, refused or cancelled says so with a code; calls run beside turns and beside each other",
  },
  {
    id: "V105",
    text: "by hand: connect, discover, filter or transform, register in a session or a runtime, unregister by source; a renamed tool calls its server by its own name",
  },
  {
    id: "V106",
    text: "transformers apply to tools of servers only unless told otherwise; one that throws is reported by name and costs that tool alone",
  },
  {
    id: "V107",
    text: "provider options of a tool reach its provider in the provider's own shape; unknown ones are reported",
  },
  {
    id: "V108",
    text: "tool() takes a Standard Schema that gives JSON Schema, or JSON Schema, with typed arguments; else it asks for inputSchema",
  },
  {
    id: "V109",
    text: "without approve, tools of servers that the program handed over run and all else that policy asks about is refused with a code; with it, its answer counts",
  },
  {
    id: "V110",
    text: "a custom model, a custom store from which a session is taken up again, a custom search and a custom source of tools work through the public API",
  },
  {
    id: "V111",
    text: "saveServer and deleteServer change the user's configuration from code and keep its comments",
  },
  {
    id: "V112",
    text: "openTools gives the tools of servers without a model; serveAcp serves an ACP client with the runtime's servers and tools, and asks that client",
  },
  {
    id: "V113",
    text: "the README's example runs as written from an empty folder after installing the tarball: TypeScript nodenext and bundler, and plain JavaScript",
  },
  {
    id: "V114",
    text: "the six entry points export at most 120 names, each with a doc comment and an example; the API report is as checked in",
  },
] as const;
