// `tenon/gateway`: a program beside Tenon joins sessions of a gateway and runs tools for them.
export {
  type ClientIdentity,
  connectGateway,
  type GatewayOptions,
  type GatewayProgram,
  type ListedSession,
  type ProgramSession,
  type ProgramTool,
  type RunContext,
  type SessionChoice,
  type SetTools,
} from "../client/index.js";
