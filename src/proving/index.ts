/** The room's entrance: proofs of payments. */
export { type Archives, createArchives } from './archives.js';
export { createLocalValidators, type LocalValidators } from './local-validators.js';
export { createMaker, type MakeProof } from './maker.js';
export { createProofStore, type ProofStore } from './proof-store.js';
export {
  createPayerProof,
  createProofOperation,
  createReadProof,
  type PaymentProof,
  type ReadProof,
} from './proofs.js';
export { createProver, type Prover } from './prover.js';
export { createStatementOf } from './statement.js';
