/** The room's entrance: proofs of payments. */
export { type Archives, createArchives } from './archives.js';
export { createMaker, type MakeProof } from './maker.js';
export { createProofStore, type ProofStore } from './proof-store.js';
export {
  createLocalValidators,
  createPayerProof,
  createProofOperation,
  createReadProof,
  createStatementOf,
  type LocalValidators,
  type PaymentProof,
  type ReadProof,
} from './proofs.js';
export { createProver, type Prover } from './prover.js';
