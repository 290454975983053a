/** Starts the dashboard. */
import { QueryClientProvider } from '@tanstack/preact-query';
import { render } from 'preact';
import { Router } from 'wouter-preact';
import './style.css';
import { BASE } from './address.js';
import { queryClient } from './api.js';
import { App } from './app.js';
import { reloadWhenGone } from './gone.js';

reloadWhenGone();

render(
  <QueryClientProvider client={queryClient}>
    <Router base={BASE}>
      <App />
    </Router>
  </QueryClientProvider>,
  document.getElementById('app')!,
);
