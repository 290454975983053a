import { ModuleProvider, Modules } from '@medusajs/framework/utils';
import { StellarCollectProvider } from './provider.js';

export default ModuleProvider(Modules.PAYMENT, { services: [StellarCollectProvider] });
