//! temp
use super::*;
use crate::grid::*;
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum PressureMethod { Multigrid, Icpcg, Cg }
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct ClosedRegion { pub cells: usize, pub imbalance: f64 }
#[allow(missing_docs)]
pub struct PressureSolve { f: FaceField, e: CellField, d: Vec<f64> }
#[allow(missing_docs)]
impl PressureSolve {
    pub fn new(dims: [usize;3]) -> Self { let g = Grid::new(dims, 1.0, glam::DVec3::ZERO); Self { f: FaceField::new(&g, 0.0), e: CellField::new(&g, 0.0), d: vec![0.0; g.cells()] } }
    pub fn diagonal(&self) -> &[f64] { &self.d }
    pub fn set_operator(&mut self, f: &FaceField, e: &CellField) { self.f = f.clone(); self.e = e.clone(); let mut d = vec![]; let ones = vec![1.0; e.data.len()]; self.apply(&ones, &mut d, true); self.d = d; }
    fn apply(&self, x: &[f64], y: &mut Vec<f64>, diag: bool) {
        y.clear(); let n = self.e.dims;
        for k in 0..n[2] { for j in 0..n[1] { for i in 0..n[0] {
            let at=[i,j,k]; let c = i + n[0]*(j+n[1]*k); let mut s = self.e.data[c]*x[c];
            for axis in Axis::ALL { let a=axis.index(); let st=[1,n[0],n[0]*n[1]][a]; let mut up=at; up[a]+=1;
                let lo=self.f[(axis,at)]; let hi=self.f[(axis,up)];
                if diag { s += lo+hi; } else { if lo>0.0 { s += lo*(x[c]-x[c-st]); } if hi>0.0 { s += hi*(x[c]-x[c+st]); } } }
            y.push(s);
        }}}
    }
    pub fn solve(&mut self, _m: PressureMethod, b: &[f64], x: &mut [f64], p: &SolveParams) -> Result<(SolveInfo, Vec<ClosedRegion>), SolveError> {
        let mut b = b.to_vec(); for (b, d) in b.iter_mut().zip(&self.d) { if *d == 0.0 { *b = 0.0; } }
        let mut closed = vec![];
        if self.e.data.iter().all(|&e| e == 0.0) { let n = self.d.iter().filter(|d| **d>0.0).count(); let m = b.iter().sum::<f64>(); for (b,d) in b.iter_mut().zip(&self.d) { if *d>0.0 { *b -= m/n as f64; } } closed.push(ClosedRegion{cells:n, imbalance:m}); }
        let dot = |a:&[f64],b:&[f64]| a.iter().zip(b).map(|(a,b)|a*b).sum::<f64>();
        let nb = dot(&b,&b).sqrt(); let mut ap = vec![]; for (x,d) in x.iter_mut().zip(&self.d) { if *d == 0.0 { *x = 0.0; } }
        self.apply(x,&mut ap,false); let mut r: Vec<f64> = b.iter().zip(&ap).map(|(b,a)|b-a).collect();
        let z = |r:&[f64]| r.iter().zip(&self.d).map(|(r,d)| if *d>0.0 { r/d } else {0.0}).collect::<Vec<_>>();
        let mut zz=z(&r); let mut q=zz.clone(); let mut rz=dot(&r,&zz); let mut it=0;
        loop { let res = dot(&r,&r).sqrt(); if res <= p.tolerance*nb || it>20000 { return Ok((SolveInfo{iterations:it,residual:if nb>0.0{res/nb}else{0.0},converged:res<=p.tolerance*nb},closed)); }
            self.apply(&q,&mut ap,false); let al=rz/dot(&q,&ap); for i in 0..r.len() { x[i]+=al*q[i]; r[i]-=al*ap[i]; }
            zz=z(&r); let n=dot(&r,&zz); let be=n/rz; rz=n; for i in 0..r.len() { q[i]=zz[i]+be*q[i]; } it+=1; }
    }
}
