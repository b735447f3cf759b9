// `tenon/testing`: what embedders test with. A scripted MCP server, an ACP client, a fake world and a leak check.

export {
  AcpClient,
  type AcpClientOptions,
  connectAgent,
  connectStreams,
  type NewSessionParams,
  type PermissionAnswer,
  type PermissionPolicy,
  startAgent,
} from "./kit/acp-client/client.js";
export type { AgentCommand, AgentExit, AgentStreams } from "./kit/acp-client/connection.js";
export {
  type AgentAnswer,
  AgentConnection,
  type AgentConnectionOptions,
  type AgentMessage,
  type MessageValidator,
  processLink,
  type WireLine,
} from "./kit/acp-client/connection.js";
export { acpSchemaValidator, type SchemaValidatorOptions } from "./kit/acp-client/schema.js";
export type { WaitOptions } from "./kit/feed.js";
export {
  LeakCheck,
  type LeakCheckOptions,
  type Leaks,
  type LivingProcess,
  type LivingSearch,
  leakCheck,
  listLiving,
} from "./kit/leaks.js";
export { closeListener, listenOnLoopback, readBody } from "./kit/loopback.js";
export type { CallProgress, HeldCall } from "./kit/mcp-server/answers.js";
export {
  BAD_TOOLS,
  type Behaviour,
  type CrashStep,
  echoTool,
  type SpawnChildrenStep,
  STAGES,
  type Stage,
  type Step,
  type TaskScript,
  type ToolReply,
  type ToolScript,
} from "./kit/mcp-server/behaviour.js";
export { parseBehaviour } from "./kit/mcp-server/check-behaviour.js";
export {
  type HttpGate,
  type HttpRequestRecord,
  type HttpServerOptions,
  ScriptedHttpServer,
  scriptedHttpServer,
} from "./kit/mcp-server/http.js";
export type { FaultMatch, HttpFault } from "./kit/mcp-server/http-faults.js";
export { MemoryServer, type MemoryServerOptions, memoryServer } from "./kit/mcp-server/memory.js";
export {
  type AcpServerEntry,
  MARKER_VARIABLE,
  type ScriptedServerOptions,
  type ScriptedServerSpec,
  scriptedAcpServer,
  scriptedServer,
} from "./kit/mcp-server/scripted-server.js";
export { serveBehaviourFile } from "./kit/mcp-server/stdio.js";
export { FakeChild, type FakeChildOptions, type GroupMember } from "./kit/world/child.js";
export { FakeClock, settle } from "./kit/world/clock.js";
export { FakeFiles } from "./kit/world/files.js";
export {
  FakeWorld,
  type FakeWorldOptions,
  fakeWorld,
  type LogEntry,
  type SpawnScript,
  spawnsChild,
  spawnsServer,
} from "./kit/world/world.js";
